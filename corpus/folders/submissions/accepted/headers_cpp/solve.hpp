#pragma once

int largest(int a, int b);
