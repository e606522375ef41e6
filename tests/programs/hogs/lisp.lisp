(let ((all nil))
  (loop (push (make-array 1000 :initial-element (length all)) all)))
