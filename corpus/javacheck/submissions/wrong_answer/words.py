print("three four")
