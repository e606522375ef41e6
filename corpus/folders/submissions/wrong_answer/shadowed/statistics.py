def median(numbers):
    return min(numbers)
