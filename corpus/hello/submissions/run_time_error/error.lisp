(error "no greeting")
