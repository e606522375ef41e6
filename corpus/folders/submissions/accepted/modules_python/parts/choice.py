def largest(numbers):
    return sorted(numbers)[-1]
