import Lib.Add

main :: IO ()
main = print (add 40 2)
