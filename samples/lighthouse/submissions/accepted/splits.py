print(max(map(len, input().split("#"))))
