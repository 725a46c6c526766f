"""Handlers: one module per resource; each validates, calls one object function and renders."""
