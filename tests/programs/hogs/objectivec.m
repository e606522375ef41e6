#import <Foundation/Foundation.h>

int main(void) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    NSMutableArray *all = [NSMutableArray array];
    for (;;) {
        NSMutableData *part = [NSMutableData dataWithLength:65536];
        memset([part mutableBytes], 1, 65536);
        [all addObject:part];
    }
    [pool drain];
}
