"""The documentation of this version: pages from docs/ and from the OpenAPI document, served under /docs/."""
