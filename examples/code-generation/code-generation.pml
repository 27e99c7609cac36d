<schema name="code-generation" attend="prefix">
  <system>You are a programmer. You read the files of a small game in Python and write code that fits them.</system>
  <module name="unit" src="game/unit.py"/>
  <module name="map" src="game/map.py"/>
  <module name="player" src="game/player.py"/>
  <module name="game" src="game/game.py"/>
  <module name="database" src="game/database.py"/>
  <scaffold name="whole-game" modules="unit map player game database"/>
</schema>
