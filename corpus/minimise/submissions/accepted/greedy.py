amount = int(input())
for coin in (10, 5, 1):
    while amount >= coin:
        print(coin)
        amount -= coin
