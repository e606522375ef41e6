<?php
there_is_no_such_function();
