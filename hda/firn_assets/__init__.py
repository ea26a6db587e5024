"""Makes Houdini digital assets from the tables of `firn describe --json`; needs no Houdini."""
