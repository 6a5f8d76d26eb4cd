"""The driver of loaders that are met in Python.

It runs boxed, in the interpreter of the environment in which the loader is installed, which is often not that of epctx: so it
imports nothing but the standard library, the loader, and what that brings along.
"""
