from raygang.cli import main

main()
