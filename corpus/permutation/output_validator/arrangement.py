"""What is wrong with an arrangement."""


def problem_with(words, n):
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        return "Not all are numbers."
    if sorted(numbers) != list(range(1, n + 1)):
        return "Not an arrangement of 1 to n."
    if any(abs(a - b) == 1 for a, b in zip(numbers, numbers[1:])):
        return "Neighbours differ by one."
    return ""
