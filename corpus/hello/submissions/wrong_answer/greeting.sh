echo Hello, Wurld!
