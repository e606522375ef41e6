(format t "~a~%" (length (make-array (ash 1 40) :initial-element 1)))
