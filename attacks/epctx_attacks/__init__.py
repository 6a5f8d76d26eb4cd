"""The attacks that come with epctx: one module for each family, whose ``family`` holds its cases.

Each is installed as an entry point of the group ``epctx.attacks``, in the same way as a family of another distribution.
"""
