#!/usr/bin/env python3
print("quite good")
