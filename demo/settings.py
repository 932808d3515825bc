"""The settings of the demo's commands: the product's, and the app that has these commands."""

from gateway.settings import *  # noqa: F403
from gateway.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "demo"]
