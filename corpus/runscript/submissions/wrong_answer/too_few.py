print("rhythm")
