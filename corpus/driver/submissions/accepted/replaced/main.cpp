// The driver takes the place of a file of its name.
#error "this should have been replaced"
