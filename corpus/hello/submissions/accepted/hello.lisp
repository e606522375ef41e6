(format t "Hello, World!~%")
