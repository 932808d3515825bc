"""The public status page: what works now, and the incidents of the last 30 days."""
