stop("unlucky")
