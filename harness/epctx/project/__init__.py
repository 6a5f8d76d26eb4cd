"""What a vendor's project gets from ``epctx init``: settings, an adapter to fill in, a tox environment, a workflow for CI."""
