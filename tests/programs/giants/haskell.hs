import Data.Array.ST
import Data.Array.Unboxed

main :: IO ()
main = print (snd (bounds (runSTUArray (newArray (0, 2 ^ 36) 1) :: UArray Int Int)))
