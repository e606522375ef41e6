import Control.Exception (evaluate)
import qualified Data.Map.Strict as Map

main :: IO ()
main = do
  n <- readLn :: IO Int
  let memory = Map.fromList [(i, i + 1) | i <- [1 .. n * 16000]]
  _ <- evaluate (Map.size memory)
  print (n + Map.foldl' (+) 0 memory - Map.foldr' (+) 0 memory)
