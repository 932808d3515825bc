#!/usr/bin/env python
"""Entry point for every command: `manage.py up`, `demo`, `run_watchers`, `run_sender`, `deploy_factory`, ..."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    execute_from_command_line(sys.argv)
