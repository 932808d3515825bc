#!/usr/bin/env python
"""Entry point for every command: `manage.py up`, `demo`, `run_watchers`, `run_sender`, `deploy_factory`, ..."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    if sys.argv[1:2] == ["up"]:
        from gateway.management.commands.up import Command

        # It only starts processes and waits. With all apps loaded it would keep 30 MB more in memory.
        Command().run_from_argv(sys.argv)
    else:
        execute_from_command_line(sys.argv)
