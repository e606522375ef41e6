print("reject")
