"""`manage.py dev`: the demo for developing Florin."""

from gateway.management.commands.demo import Command as DemoCommand
from gateway.management.dev_stack import DevStack


class Command(DemoCommand):
    """Runs the demo with reload, DEBUG pages and django-debug-toolbar."""

    help = "Run the demo with reload on change, DEBUG pages and the debug toolbar."
    stack = DevStack
