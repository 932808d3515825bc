#!/usr/bin/env python
"""Entry point for every command: `manage.py up`, `demo`, `run_watchers`, `run_sender`, `deploy_factory`, ..."""

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line

# A server has no such folder.
DEMO_COMMANDS = Path(__file__).parent / "demo" / "management" / "commands"

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    command = "".join(sys.argv[1:2])
    if command == "up":
        from gateway.management.commands.up import Command

        # It only starts processes and waits. With all apps loaded it would keep 30 MB more in memory.
        Command().run_from_argv(sys.argv)
    else:
        if (DEMO_COMMANDS / f"{command}.py").is_file():
            os.environ["DJANGO_SETTINGS_MODULE"] = "demo.settings"
        execute_from_command_line(sys.argv)
