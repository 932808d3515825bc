"""What is asked for without a login: the service worker, and the page that stops mails."""
