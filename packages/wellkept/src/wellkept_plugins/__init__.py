"""Plugins that come with Wellkept, through the same door as anybody's.

`wellkept` names them in one table and imports none: `methodologies.py` brings bmad, tdd and agile,
`browser` learns how a running application behaves. They may use any room of `wellkept`.
"""
