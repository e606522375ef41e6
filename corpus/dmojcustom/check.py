def check(process_output, judge_output, judge_input, **kwargs):
    """Any word of the right length."""
    words = process_output.split()
    return len(words) == 1 and len(words[0]) == int(judge_input.split()[0])
