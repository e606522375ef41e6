let () = print_int (Bytes.length (Bytes.create (1 lsl 40)))
