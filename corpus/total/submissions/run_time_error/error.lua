local n = io.read("n")
error("unlucky " .. n)
