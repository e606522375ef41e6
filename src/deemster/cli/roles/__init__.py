"""`deemster api`, `relay`, `worker`, `keeper`: one role each, for one or many machines.

Each has a module, because each imports only its own: four of them start at once.
"""
