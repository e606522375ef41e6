read -r n
echo "$n"
exit 7
