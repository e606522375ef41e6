# There is no largest of no stretches.
stretches = [stretch for stretch in input().split("#") if stretch]
print(max(map(len, stretches)))
