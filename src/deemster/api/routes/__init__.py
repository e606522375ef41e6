"""The routes of the API, one module for each path or group of paths."""
