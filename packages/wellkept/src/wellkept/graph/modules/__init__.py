"""Module map, module purposes and coding conventions of a tree. Open `module_map.py` first."""
