#ifndef LARGEST_H
#define LARGEST_H

int largest(int a, int b);

#endif
