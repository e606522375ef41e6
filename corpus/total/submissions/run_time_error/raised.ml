let () = failwith "unlucky"
