(defun depth (n) (if (zerop n) 0 (1+ (depth (1- n)))))
(format t "~a~%" (depth 1000000))
