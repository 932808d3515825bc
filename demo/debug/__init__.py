"""DEBUG pages and django-debug-toolbar, for the web processes of `script/dev` alone."""
